"""What the transport relies on in libibverbs, against a real device: the unit tests that have none elsewhere."""
from . import expect, register
from ..virtual import SHAPES, Shape

SHAPES["provider"] = Shape(
    "", ("crc32_generic", "ib_uverbs", "rdma_rxe", "veth"),
    """ip link add veth0 mtu 4200 type veth peer name veth1
    ip link set veth0 up; ip link set veth1 up; ip addr add 10.1.0.1/24 dev veth0
    rdma link add rxe0 type rxe netdev veth0 || exit 1
    chmod 666 /dev/infiniband/*""",
    ("rdma", "setpriv"), ours=("test_transport",))


def passed(lab, script, count):
    """So many tests, none of them skipped."""
    outcome = lab.run(script, 300)
    expect(outcome.code == 0 and f"[  PASSED  ] {count} test" in outcome.out and "SKIPPED" not in outcome.out,
           f"not all of {count} tests passed", outcome)


def contract(lab):
    passed(lab, "ulimit -l unlimited; test_transport --gtest_filter='*VerbsLibrary*/system'", 14)


def memlock(lab):
    """As an ordinary user below a low limit."""
    passed(lab, "ulimit -l 64; setpriv --reuid 65534 --regid 65534 --clear-groups "
           "test_transport --gtest_filter=VerbsSystem.ExplainsALimitOfLockedMemory", 1)


def events(lab):
    """The link goes when the device has been opened, which its queue of events shows."""
    passed(lab, """RINGTRUE_PORT_GOES=1 test_transport --gtest_filter=VerbsSystem.HearsOfAPort & test=$!
        for turn in $(seq 100); do
          ls -l /proc/$test/fd | grep -q infinibandevent && break
          sleep 0.1
        done
        ip link set veth0 down; sleep 0.5; ip link set veth0 up; wait $test""", 1)


for case in (contract, memlock, events):
    register(f"vm/provider-{case.__name__}", case, quick=True, machine="provider")
