#include "io/hub_cache.h"

#include <map>

#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

Environment With(Variables variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

class HubCache : public testing::Test {
 protected:
  // A repository with one snapshot that `revision` refers to; returns the snapshot.
  fs::path Add(const std::string& repository, const std::string& revision = "main") {
    folder_.Write(repository + "/refs/" + revision, kCommit);
    folder_.Write(repository + "/snapshots/" + kCommit + "/config.json", "{}");
    return folder_.path() / repository / "snapshots" / kCommit;
  }
  std::optional<fs::path> Find(const std::string& id, const std::string& revision = "",
                               HubKind kind = HubKind::kModel) {
    return FindInHubCache({kind, id, revision, folder_.path()}, With({}));
  }
  TemporaryFolder folder_;
};

TEST(HubCacheFolders, FollowTheVariablesInTheirOrder) {
  using Paths = std::vector<fs::path>;
  Variables v{{"HOME", "/h"}};
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/h/.cache/huggingface/hub"}));
  v["XDG_CACHE_HOME"] = "/x";
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/x/huggingface/hub"}));
  v["HF_HOME"] = "~/hf";
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/h/hf/hub"}));
  v["HUGGINGFACE_HUB_CACHE"] = "/old";
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/old"}));
  v["HF_HUB_CACHE"] = "/new";
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/new"}));
  v["HF_HUB_CACHE"] = "";
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/old"}));
  v["TRANSFORMERS_CACHE"] = "/t";
  EXPECT_EQ(HubCacheFolders({}, With(v)), (Paths{"/t", "/old"}));
  EXPECT_EQ(HubCacheFolders("/c", With(v)), (Paths{"/c"}));
  EXPECT_TRUE(HubCacheFolders({}, With({})).empty());
}

TEST_F(HubCache, FindsTheSnapshotOfABranchTagOrCommit) {
  const fs::path snapshot = Add("models--org--name");
  Add("models--org--name", "refs/pr/1");
  EXPECT_EQ(Find("org/name"), snapshot);
  EXPECT_EQ(Find("org/name", "main"), snapshot);
  EXPECT_EQ(Find("org/name", "refs/pr/1"), snapshot);
  EXPECT_EQ(Find("org/name", kCommit), snapshot);
  EXPECT_EQ(Find("org/name", "v2"), std::nullopt);
  EXPECT_EQ(Find("org/other"), std::nullopt);
  EXPECT_EQ(Find("org/name", std::string(40, '0')), std::nullopt);
}

TEST_F(HubCache, TriesBothNamesOfAMovedModel) {
  const fs::path old_name = Add("models--bert-base-uncased");
  EXPECT_EQ(Find("bert-base-uncased"), old_name);
  EXPECT_EQ(Find("google-bert/bert-base-uncased"), old_name);
  EXPECT_EQ(Find("someone/bert-base-uncased"), std::nullopt);
  const fs::path new_name = Add("models--distilbert--distilroberta-base");
  EXPECT_EQ(Find("distilroberta-base"), new_name);
  const fs::path glue = Add("datasets--nyu-mll--glue");
  EXPECT_EQ(Find("glue", "", HubKind::kDataset), glue);
  EXPECT_EQ(Find("glue"), std::nullopt);
}

TEST_F(HubCache, DoesNotLeaveTheCache) {
  folder_.Write("outside", kCommit);
  Add("models--org--name");
  EXPECT_EQ(Find("org/name", "../../outside"), std::nullopt);
  EXPECT_EQ(Find("org/name", (folder_.path() / "outside").string()), std::nullopt);
  EXPECT_EQ(Find("../models--org--name"), std::nullopt);
  folder_.Write("models--org--name/refs/evil", "../../../..");
  EXPECT_EQ(Find("org/name", "evil"), std::nullopt);
}

TEST_F(HubCache, ResolvesFoldersBeforeIds) {
  const fs::path snapshot = Add("models--org--name");
  EXPECT_EQ(ResolveModel(snapshot.string(), "", {}, With({})), snapshot);
  EXPECT_EQ(ResolveModel("org/name", "main", folder_.path(), With({})), snapshot);
  EXPECT_EQ(ResolveModel("~/models--org--name", "", {}, With({{"HOME", folder_.path().string()}})),
            folder_.path() / "models--org--name");
}

TEST_F(HubCache, SaysWhereItLookedAndWhatToDo) {
  const auto error_of = [&](const std::string& name, const std::string& revision = "") {
    return ErrorOf([&] { ResolveModel(name, revision, folder_.path(), With({})); });
  };
  const std::string error = error_of("bert-base-uncased", "v9");
  EXPECT_TRUE(Contains(error, (folder_.path() / "models--bert-base-uncased").string()));
  EXPECT_TRUE(
      Contains(error, (folder_.path() / "models--google-bert--bert-base-uncased").string()));
  EXPECT_TRUE(Contains(error, "huggingface-cli download bert-base-uncased --revision v9"));
  EXPECT_TRUE(
      Contains(error_of("/no/such/folder"), "the model folder /no/such/folder does not exist"));
  EXPECT_TRUE(Contains(error_of("./model"), "does not exist"));
  const fs::path file = folder_.Write("weights.bin", "");
  EXPECT_TRUE(Contains(error_of(file.string()), "is a file"));
}

}  // namespace
}  // namespace hagane::io
