// Longest match of a set of byte strings, for WordPiece vocabularies and added tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hagane::text {

// Immutable. Nodes in breadth-first order, so that the children of a node are neighbours and their
// labels one short run of bytes.
class ByteTrie {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNoNode = UINT32_MAX;

  ByteTrie() : nodes_(1), labels_(1) {}
  // A node takes 13 bytes, and a hostile vocabulary has one for each of its bytes.
  static constexpr size_t kMostNodes = size_t{1} << 21;

  // Keys are distinct; values >= 0. Throws an Error when there are too many nodes.
  explicit ByteTrie(std::vector<std::pair<std::string_view, int32_t>> entries);

  // The node reached from the root by `prefix`, or kNoNode.
  uint32_t Find(std::string_view prefix) const;

  struct Match {
    size_t length = 0;
    int32_t value = -1;  // -1: none
  };
  // The longest key, read from node `from` on, that `text` starts with.
  Match LongestMatch(uint32_t from, std::string_view text) const;

 private:
  struct Node {
    uint32_t first_child = 0;
    int32_t value = -1;
    uint16_t children = 0;
  };

  uint32_t Child(uint32_t node, unsigned char label) const;

  std::vector<Node> nodes_;
  std::vector<unsigned char> labels_;  // of each node: the byte that leads to it
};

}  // namespace hagane::text
