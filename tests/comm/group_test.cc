// Who is in a group, and what happens when a rank no longer answers.
#include "comm/group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "comm/peer_lost.h"
#include "thread_wire.h"

namespace hagane::comm {
namespace {

TEST(GroupTest, OneProcessIsAGroupOfOne) {
  Group group;
  EXPECT_TRUE(group.alone());
  EXPECT_TRUE(group.leads());
  EXPECT_EQ(group.me().pid, getpid());
  EXPECT_EQ(group.AllGather("x", "texts"), std::vector<std::string>{"x"});
  EXPECT_EQ(group.FromLeader("y", "text"), "y");
  EXPECT_EQ(group.Sum({2.5}, "sum"), std::vector<double>{2.5});
}

TEST(GroupTest, RanksOfOneHostAreNumberedOnIt) {
  ThreadNetwork network(3);
  RunRanks(&network, [&](int rank) {
    Group group([&] { return std::make_unique<ThreadWire>(&network, rank); }, {20, 10, 0.2});
    EXPECT_EQ(group.rank(), rank);
    EXPECT_EQ(group.me().local_rank, rank);
    EXPECT_EQ(group.local_size(), 3);
    EXPECT_EQ(group.nodes(), 1);
  });
}

// The message must name who, where and what; every rank that waits must end.
TEST(GroupTest, ASilentRankEndsTheWaitOfAllOthersByName) {
  ThreadNetwork network(3);
  std::atomic<int> lost{0};
  RunGroups(&network, {20, 0.6, 0.1}, [&](Group* group) {
    const int rank = group->rank();
    if (rank == 2) {
      network.Silence(2);
      try {
        group->Barrier("nobody hears it");
      } catch (const PeerLost&) {
      }
      return;
    }
    try {
      group->Barrier("the gradients of update 12", kWhileAlive);
    } catch (const PeerLost& error) {
      ++lost;
      const std::string text = error.what();
      EXPECT_NE(text.find("rank 2 on " + group->member(2).host), std::string::npos) << text;
      EXPECT_NE(text.find("waiting for the gradients of update 12"), std::string::npos) << text;
    }
  });
  EXPECT_EQ(lost, 2);
}

TEST(GroupTest, ARankThatIsAliveButDoesNotAnswerHasADeadline) {
  ThreadNetwork network(2);
  std::atomic<bool> late{false};
  RunGroups(&network, {20, 5, 0.1}, [&](Group* group) {
    const int rank = group->rank();
    if (rank == 1) {
      while (!late) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    try {
      group->Barrier("the answers", Patience{0.5});
      ADD_FAILURE() << "rank 1 was never there";
    } catch (const PeerLost& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
      EXPECT_NE(text.find("did not answer"), std::string::npos) << text;
    }
    late = true;
  });
}

TEST(GroupTest, WhileARankWorksAloneTheOthersWaitOnItsSignOfLife) {
  ThreadNetwork network(2);
  RunGroups(&network, {20, 0.5, 0.05}, [&](Group* group) {
    const int rank = group->rank();
    // Three times the silence that would end the wait, if there were silence.
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_NO_THROW(group->Barrier("tokenising", kWhileAlive));
  });
}

// As MPI_Finalize, which may wait for a rank that no longer answers.
class EndlessWire : public ThreadWire {
 public:
  EndlessWire(ThreadNetwork* network, int rank, std::atomic<bool>* let_go)
      : ThreadWire(network, rank), let_go_(let_go) {}
  void Finish() override {
    while (!*let_go_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<bool>* let_go_;
};

TEST(GroupTest, TheEndHasALimitAndMayDoWithoutTheWires) {
  for (const bool finish : {true, false}) {
    ThreadNetwork network(2);
    std::atomic<bool> let_go{false};
    std::atomic<int> tried{0};
    RunRanks(&network, [&](int rank) {
      Group group([&] { return std::make_unique<EndlessWire>(&network, rank, &let_go); },
                  {20, 10, 0.2, 0.3});
      EXPECT_EQ(group.End(finish), !finish);
      if (++tried == 2) let_go = true;
    });
  }
}

TEST(GroupTest, AWireThatCannotOpenIsAnError) {
  try {
    Group group([]() -> std::unique_ptr<Wire> { throw std::runtime_error("no network here"); },
                {20, 5, 0.1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no network here"), std::string::npos);
  }
}

}  // namespace
}  // namespace hagane::comm
