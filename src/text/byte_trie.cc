#include "text/byte_trie.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace hagane::text {

namespace {

using Entries = std::vector<std::pair<std::string_view, int32_t>>;

// Of sorted entries: each adds what it does not share with the one before.
size_t CountNodes(const Entries& entries) {
  size_t count = 1;
  std::string_view before;
  for (const auto& [key, value] : entries) {
    const size_t most = std::min(key.size(), before.size());
    const auto end = key.begin() + static_cast<std::ptrdiff_t>(most);
    count += static_cast<size_t>(key.end() - std::mismatch(key.begin(), end, before.begin()).first);
    before = key;
  }
  return count;
}

}  // namespace

ByteTrie::ByteTrie(Entries entries) {
  std::sort(entries.begin(), entries.end());
  const size_t count = CountNodes(entries);
  if (count > kMostNodes) {
    throw Error(
        fmt::format("the tokens have {} different beginnings, {} are possible", count, kMostNodes),
        "the vocabulary is damaged; copy it again from the model's own folder");
  }
  nodes_.reserve(count);
  labels_.reserve(count);
  nodes_.emplace_back();
  labels_.push_back(0);
  // The keys below a node are a range of the sorted entries; nodes are visited level by level.
  struct Range {
    uint32_t begin, end;
  };
  std::vector<Range> level{{0, static_cast<uint32_t>(entries.size())}}, next;
  uint32_t node = 0;
  for (size_t depth = 0; !level.empty(); ++depth) {
    for (auto [begin, end] : level) {
      if (begin < end && entries[begin].first.size() == depth) {
        nodes_[node].value = entries[begin].second;
        ++begin;
      }
      nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
      while (begin < end) {
        const char label = entries[begin].first[depth];
        const uint32_t first = begin;
        while (begin < end && entries[begin].first[depth] == label) ++begin;
        next.push_back({first, begin});
        nodes_.emplace_back();
        labels_.push_back(static_cast<unsigned char>(label));
        ++nodes_[node].children;
      }
      ++node;
    }
    level.swap(next);
    next.clear();
  }
}

inline uint32_t ByteTrie::Child(uint32_t node, unsigned char label) const {
  const Node& parent = nodes_[node];
  if (parent.children == 0) return kNoNode;
  const unsigned char* labels = labels_.data() + parent.first_child;
  if (labels[0] == label) return parent.first_child;
  const void* found = std::memchr(labels, label, parent.children);
  if (found == nullptr) return kNoNode;
  return parent.first_child +
         static_cast<uint32_t>(static_cast<const unsigned char*>(found) - labels);
}

uint32_t ByteTrie::Find(std::string_view prefix) const {
  uint32_t node = kRoot;
  for (const char byte : prefix) {
    node = Child(node, static_cast<unsigned char>(byte));
    if (node == kNoNode) return kNoNode;
  }
  return node;
}

ByteTrie::Match ByteTrie::LongestMatch(uint32_t from, std::string_view text) const {
  Match match;
  uint32_t node = from;
  for (size_t i = 0; i < text.size(); ++i) {
    node = Child(node, static_cast<unsigned char>(text[i]));
    if (node == kNoNode) break;
    if (nodes_[node].value >= 0) match = {i + 1, nodes_[node].value};
  }
  return match;
}

}  // namespace hagane::text
