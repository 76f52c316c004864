// A library of verbs whose queue pairs cannot be connected; and how often anybody asked it for that, and for
// devices.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transport/verbs/library.h"

namespace ringtrue::test {

class RefusingLibrary final : public transport::verbs::Library {
 public:
  explicit RefusingLibrary(transport::verbs::Library& real) : real_(real) {}
  Result<std::vector<std::string>> devices() override {
    ++asked;
    return real_.devices();
  }
  Result<std::unique_ptr<transport::verbs::Device>> open(const std::string& name) override {
    auto device = real_.open(name);
    if (!device) return device;
    return std::make_unique<Device>(*this, std::move(*device));
  }
  int asked = 0, refused = 0;
  Cause cause = Cause::unavailable;
  std::chrono::milliseconds takes{0};  // to refuse

 private:
  template <class T>
  using Made = Result<std::unique_ptr<T>>;

  class QueuePair final : public transport::verbs::QueuePair {
   public:
    QueuePair(RefusingLibrary& library, std::unique_ptr<transport::verbs::QueuePair> real)
        : library_(library), real_(std::move(real)) {}
    std::uint32_t number() const override { return real_->number(); }
    int max_inline() const override { return real_->max_inline(); }
    Result<void> to_ready_to_receive(const transport::verbs::Path&) override {
      ++library_.refused;
      std::this_thread::sleep_for(library_.takes);
      return fail(library_.cause, "no route to that GID", {}, "look at ip route");
    }
    Result<void> to_ready_to_send(const transport::verbs::RetryLimits& limits,
                                  std::uint32_t number) override {
      return real_->to_ready_to_send(limits, number);
    }
    Result<void> post(std::span<const transport::verbs::Write> writes) override {
      return real_->post(writes);
    }
    Result<void> post_receives(int count) override { return real_->post_receives(count); }
    void to_error() override { real_->to_error(); }

   private:
    RefusingLibrary& library_;
    std::unique_ptr<transport::verbs::QueuePair> real_;
  };

  class Device final : public transport::verbs::Device {
   public:
    Device(RefusingLibrary& library, std::unique_ptr<transport::verbs::Device> real)
        : library_(library), real_(std::move(real)) {}
    const std::string& name() const override { return real_->name(); }
    const transport::verbs::DeviceLimits& limits() const override { return real_->limits(); }
    Result<transport::verbs::PortState> port(int number) const override { return real_->port(number); }
    std::vector<transport::verbs::Gid> gids(int port) const override { return real_->gids(port); }
    Made<transport::verbs::Region> register_memory(std::byte* at, std::uint64_t bytes,
                                                   transport::verbs::Access access) override {
      return real_->register_memory(at, bytes, access);
    }
    Made<transport::verbs::Region> register_dmabuf(int descriptor, std::uint64_t offset, std::uint64_t bytes,
                                                   const std::byte* at,
                                                   transport::verbs::Access access) override {
      return real_->register_dmabuf(descriptor, offset, bytes, at, access);
    }
    Made<transport::verbs::CompletionQueue> make_completion_queue(int completions) override {
      return real_->make_completion_queue(completions);
    }
    Made<transport::verbs::SharedReceiveQueue> make_shared_receive_queue(int receives) override {
      return real_->make_shared_receive_queue(receives);
    }
    Made<transport::verbs::QueuePair> make_queue_pair(transport::verbs::CompletionQueue& queue,
                                                      transport::verbs::SharedReceiveQueue* shared, int port,
                                                      int sends, int receives, int inline_bytes,
                                                      int pkey_index) override {
      auto pair = real_->make_queue_pair(queue, shared, port, sends, receives, inline_bytes, pkey_index);
      if (!pair) return pair;
      return std::make_unique<QueuePair>(library_, std::move(*pair));
    }
    int event_descriptor() const override { return real_->event_descriptor(); }
    std::optional<transport::verbs::Event> next_event() override { return real_->next_event(); }

   private:
    RefusingLibrary& library_;
    std::unique_ptr<transport::verbs::Device> real_;
  };

  transport::verbs::Library& real_;
};

}  // namespace ringtrue::test
