// Buffer.cpp - allocation and accounts of tensors' memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Buffer.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cstdlib>
#include <new>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

using namespace shardtype;

static thread_local MemoryAccount *currentAccount = nullptr;

MemoryAccount::Scope::Scope(MemoryAccount *account)
    : outer_(std::exchange(currentAccount, account)) {}

MemoryAccount::Scope::~Scope() { currentAccount = outer_; }

void MemoryAccount::add(uint64_t bytes) {
  uint64_t now = current_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak &&
         !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed))
    ;
}

//===--- Memory -----------------------------------------------------------===//

/// Null: there is none.
static void *allocateMemory(uint64_t size) {
  constexpr uint64_t Align = 64, HugePage = uint64_t(1) << 21;
  bool isHuge = size >= 2 * HugePage;
  void *memory = std::aligned_alloc(isHuge ? HugePage : Align,
                                    isHuge ? (size + HugePage - 1) & -HugePage
                                           : (size + Align - 1) & -Align);
  // Each page that is touched first costs a fault: large pages cost few, and
  // small ones are had all at once.
#ifdef MADV_HUGEPAGE
  if (memory && isHuge)
    madvise(memory, size & -HugePage, MADV_HUGEPAGE);
#endif
#ifdef MADV_POPULATE_WRITE
  constexpr uint64_t Page = 4096;
  if (memory && !isHuge && size >= 32 * Page) {
    uint64_t begin = (reinterpret_cast<uint64_t>(memory) + Page - 1) & -Page,
             end = (reinterpret_cast<uint64_t>(memory) + size) & -Page;
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
  }
#endif
  return memory;
}

void MemoryPool::shrink(uint64_t most) {
  while (!memory_.empty() && used_ + kept_ > most) {
    auto largest = std::prev(memory_.end());
    kept_ -= largest->first;
    std::free(largest->second);
    memory_.erase(largest);
  }
}

void MemoryPool::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  shrink(0);
}

uint64_t MemoryPool::kept() const {
  std::lock_guard lock(mutex_);
  return kept_;
}

void *MemoryPool::allocate(uint64_t size, uint64_t &capacity) {
  constexpr uint64_t Page = 4096;
  std::lock_guard lock(mutex_);
  auto found = memory_.lower_bound(size);
  bool fits = found != memory_.end() && found->first - size <= size / 4;
  capacity = fits ? found->first : (size + Page - 1) & -Page;
  used_ += capacity;
  most_ = std::max(most_, used_);
  if (!fits) {
    shrink(most_);
    return allocateMemory(capacity);
  }
  void *memory = found->second;
  kept_ -= capacity;
  memory_.erase(found);
  return memory;
}

void MemoryPool::free(void *memory, uint64_t capacity) {
  std::lock_guard lock(mutex_);
  used_ -= capacity;
  if (closed_)
    return std::free(memory);
  kept_ += capacity;
  memory_.emplace(capacity, memory);
}

//===--- Buffers ----------------------------------------------------------===//

Buffer Buffer::allocate(uint64_t bytes) {
  void *memory = nullptr;
  uint64_t size = bytes + sizeof(Head), capacity = 0;
  MemoryPool *pool = currentAccount && size >= MemoryPool::Least
                         ? currentAccount->pool()
                         : nullptr;
  if (bytes < UINT64_MAX / 2)
    memory = pool ? pool->allocate(size, capacity) : allocateMemory(size);
  if (!memory)
    llvm::report_bad_alloc_error("no memory for a tensor");
  Head *head = new (memory) Head;
  head->bytes = bytes;
  head->capacity = capacity;
  head->account = currentAccount;
  if (head->account) {
    head->account->retain();
    head->account->add(bytes);
  }
  return Buffer(head);
}

void Buffer::free(Head *head) {
  MemoryAccount *account = head->account;
  uint64_t bytes = head->bytes, capacity = head->capacity;
  head->~Head();
  if (capacity)
    account->pool()->free(head, capacity);
  else
    std::free(head);
  if (!account)
    return;
  account->remove(bytes);
  account->release();
}
