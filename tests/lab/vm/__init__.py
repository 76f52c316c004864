"""Virtual machines for tests: Debian's stock kernel in QEMU, in seconds, without root, KVM or network.

    kernel = Kernel.at(cache)                               # fetched by apt the first time
    image = Image(); image.program("/usr/sbin/ip")          # what the machine has beside busybox
    with Machine(kernel, image, directory, modules=["virtio_net"], arguments=["-device", "e1000e"]) as machine:
        machine.run("find /sys/bus/pci/devices/").out

What cannot be had here (QEMU, the kernel) is Unavailable, with the reason.
"""
from .image import Image
from .kernel import Kernel, Unavailable, find
from .machine import Ended, Machine, MachineError

__all__ = ["Ended", "Image", "Kernel", "Machine", "MachineError", "Unavailable", "find"]
