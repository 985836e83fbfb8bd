// Buffer.cpp - allocation and accounts of tensors' memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Buffer.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdlib>
#include <new>

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

Buffer Buffer::allocate(uint64_t bytes) {
  constexpr uint64_t Align = alignof(Head);
  void *memory = nullptr;
  if (bytes < UINT64_MAX / 2)
    memory = std::aligned_alloc(Align, (bytes + sizeof(Head) + Align - 1) /
                                           Align * Align);
  if (!memory)
    llvm::report_bad_alloc_error("no memory for a tensor");
  Head *head = new (memory) Head;
  head->bytes = bytes;
  head->account = currentAccount;
  if (head->account) {
    head->account->retain();
    head->account->add(bytes);
  }
  return Buffer(head);
}

void Buffer::free(Head *head) {
  if (head->account) {
    head->account->remove(head->bytes);
    head->account->release();
  }
  head->~Head();
  std::free(head);
}
