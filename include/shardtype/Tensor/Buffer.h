// Buffer.h - reference-counted memory of tensors, accounted per run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TENSOR_BUFFER_H
#define SHARDTYPE_TENSOR_BUFFER_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace shardtype {

/// Keeps the memory of large buffers that are freed for those made next, since
/// fresh pages cost more than what is usually computed on them. What it keeps
/// and what is in use together never exceed the most that was in use at once
/// (or 16 MB). Lives until its owner and all buffers are gone.
class MemoryPool {
public:
  static MemoryPool *create() { return new MemoryPool; }
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  /// Frees what it keeps; from now on it keeps nothing.
  void close();
  /// Bytes that it keeps.
  uint64_t kept() const;

  // For buffers.
  static constexpr uint64_t Least = 1 << 16;
  /// At least `size` bytes; how many is set. Null: there are none.
  void *allocate(uint64_t size, uint64_t &capacity);
  void free(void *memory, uint64_t capacity);

private:
  MemoryPool() = default;
  ~MemoryPool() { close(); }
  void shrink(uint64_t most);

  std::atomic<uint64_t> references_{1};
  mutable std::mutex mutex_;
  std::multimap<uint64_t, void *> memory_; // By capacity.
  uint64_t kept_ = 0, used_ = 0, most_ = 16 << 20;
  bool closed_ = false;
};

/// Counts the bytes of the buffers that are made while a `Scope` of it stands
/// on the thread that makes them, and may take their memory from a pool. Lives
/// until its owner and all of its buffers are gone.
class MemoryAccount {
public:
  static MemoryAccount *create(MemoryPool *pool = nullptr) {
    return new MemoryAccount(pool);
  }
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  uint64_t current() const { return current_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void add(uint64_t bytes);
  void remove(uint64_t bytes) {
    current_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  MemoryPool *pool() const { return pool_; }

  /// Buffers made on this thread are counted by `account` (null: by none)
  /// until the scope ends.
  class Scope {
  public:
    explicit Scope(MemoryAccount *account);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    MemoryAccount *outer_;
  };

private:
  explicit MemoryAccount(MemoryPool *pool) : pool_(pool) {
    if (pool_)
      pool_->retain();
  }
  ~MemoryAccount() {
    if (pool_)
      pool_->release();
  }
  MemoryPool *pool_;
  std::atomic<uint64_t> references_{1}, current_{0}, peak_{0};
};

/// A pointer to shared memory: one allocation of a header and the data behind
/// it, aligned to 64 bytes. Threads may share buffers; only who has the only
/// reference may write. Copies share.
class Buffer {
public:
  Buffer() = default;
  /// Memory of undefined content. Ends the process if there is none, so ask
  /// for amounts that were bounded before (see `--max-memory`).
  static Buffer allocate(uint64_t bytes);
  Buffer(const Buffer &other) : head_(other.head_) {
    if (head_)
      head_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer &&other) noexcept
      : head_(std::exchange(other.head_, nullptr)) {}
  Buffer &operator=(Buffer other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~Buffer() {
    if (head_ && head_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      free(head_);
  }

  explicit operator bool() const { return head_; }
  uint64_t size() const { return head_ ? head_->bytes : 0; }
  bool unique() const {
    return head_ && head_->references.load(std::memory_order_acquire) == 1;
  }
  std::byte *data() const {
    return head_ ? reinterpret_cast<std::byte *>(head_ + 1) : nullptr;
  }
  friend bool operator==(const Buffer &, const Buffer &) = default;

private:
  struct alignas(64) Head {
    std::atomic<uint64_t> references{1};
    uint64_t bytes = 0;
    uint64_t capacity = 0; // Of the pool's memory; 0: it is of no pool.
    MemoryAccount *account = nullptr;
  };
  static_assert(sizeof(Head) == 64);
  static void free(Head *head);
  explicit Buffer(Head *head) : head_(head) {}

  Head *head_ = nullptr;
};

} // namespace shardtype

#endif
