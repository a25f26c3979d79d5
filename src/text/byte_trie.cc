#include "text/byte_trie.h"

#include <algorithm>
#include <cstring>

namespace hagane::text {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, int32_t>> entries) {
  std::sort(entries.begin(), entries.end());
  // The keys below a node are a range of the sorted entries; ranges are visited breadth first.
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> ranges{{0, entries.size(), 0}};
  nodes_.emplace_back();
  labels_.push_back(0);
  for (uint32_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, depth] = ranges[node];
    if (begin < end && entries[begin].first.size() == depth) {
      nodes_[node].value = entries[begin].second;
      ++begin;
    }
    nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
    while (begin < end) {
      const char label = entries[begin].first[depth];
      const size_t first = begin;
      while (begin < end && entries[begin].first[depth] == label) ++begin;
      ranges.push_back({first, begin, depth + 1});
      nodes_.emplace_back();
      labels_.push_back(static_cast<unsigned char>(label));
      ++nodes_[node].children;
    }
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
