// Every planted bug on its minimal trace: where its host is right, it shows, at this step and in this field.
#include <gmock/gmock.h>

#include <set>

#include "backends/defect.h"
#include "tests/backends/traces.h"

namespace cachet {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

/// The first field of a report that differs.
std::string difference(const Report& host, const Report& planted) {
  if (host.status != planted.status) return "status";
  if (host.lengths != planted.lengths) return "lengths";
  if (host.layer_lengths != planted.layer_lengths) return "layer_lengths";
  const auto fed = [](const Report& report) {
    std::vector<Rows> out;
    for (const ModelCall& call : report.calls.value_or(std::vector<ModelCall>{})) out.push_back(call.tokens);
    return out;
  };
  if (fed(host) != fed(planted)) return "calls";
  if (host.tokens != planted.tokens) return "tokens";
  if (host.stopped != planted.stopped) return "stopped";
  if (host.compilations != planted.compilations) return "compilations";
  if (host.logits && host.logits->data != planted.logits->data) return "logits";
  return "";
}

/// "run 0 step 1 lengths": the first difference between two transcripts of one trace.
std::string first_difference(const Transcript& host, const Transcript& planted) {
  for (std::size_t r = 0; r < host.runs.size(); ++r)
    for (std::size_t s = 0; s < host.runs[r].reports.size(); ++s)
      if (const std::string field = difference(host.runs[r].reports[s], planted.runs[r].reports[s]); !field.empty())
        return fmt::format("run {} step {} {}", r, s, field);
  return "none";
}

struct Minimal {
  std::string defect;
  std::string trace;
  std::string shows;
  std::string model = kModel;
};

const std::vector<Minimal>& minimal_traces() {
  static const std::vector<Minimal> table = {
      {"array_length", "run m\nopen a rows=1 capacity=4\n", "run 0 step 0 lengths"},
      {"batch_row_spill", "run m\nopen a rows=2 capacity=2\nappend a 3 | 1\nappend a 4 | 2\n", "run 0 step 2 logits"},
      {"block_boundary_after_crop", "run m\nopen a rows=1 capacity=8\nappend a 3 1 4 1 5\ncrop a 3\nappend a 2\n",
       "run 0 step 3 logits"},
      {"buffer_one_short", "run m\nopen a rows=1 capacity=2\nappend a 3 1\n", "run 0 step 1 logits"},
      {"capacity_checked_before", "run m\nopen a rows=1 capacity=1\nappend a 3 1\n", "run 0 step 1 status"},
      {"capacity_pinned_by_first_call", "run m\ncomplete 3 new=1\ncomplete 3 1 new=1\n", "run 0 step 1 status"},
      {"causal_top_left", "run m\nopen a rows=1 capacity=8\nappend a 3\nappend a 1\n", "run 0 step 2 logits"},
      {"clamped_write", "run m\nopen a rows=1 capacity=1\nappend a 3 1\n", "run 0 step 1 status"},
      {"crop_keeps_pending", "run m\nopen a rows=1 capacity=8\ngenerate a 3 new=1\ncrop a 0\nappend a 1\n",
       "run 0 step 3 lengths"},
      {"epsilon_1e6", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"erf_gelu", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"half_kv", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"last_token_never_fed", "run m\nopen a rows=1 capacity=8\ngenerate a 3 new=1\nappend a 1\n", "run 0 step 1 calls"},
      {"masked_by_zero_weight", "run m\nopen a rows=1 capacity=2\npoison a\nappend a 3\n", "run 0 step 2 logits"},
      {"pending_forgotten", "run m\nopen a rows=1 capacity=8\ngenerate a 3 new=1\nappend a 1\n", "run 0 step 2 lengths"},
      {"position_from_capacity", "run m\nopen a rows=1 capacity=8\nappend a 3\nappend a 1\n", "run 0 step 2 logits"},
      {"prefix_by_last_token", "run m\ncomplete 3 1 new=8\ncomplete 2 1 new=8\n", "run 0 step 1 calls"},
      {"real_length", "run m\nopen a rows=1 capacity=4\n", "run 0 step 0 lengths"},
      {"refusal_eats_pending", "run m\nopen a rows=1 capacity=3\ngenerate a 3 new=1\nappend a 1 1\nappend a 1\n",
       "run 0 step 3 lengths"},
      {"refused_append_advanced", "run m\nopen a rows=1 capacity=1\nappend a 3 1\nlength a\n", "run 0 step 1 lengths"},
      {"reset_leaves_pending", "run m\nopen a rows=1 capacity=8\ngenerate a 3 new=1\nreset a\nappend a 1\n",
       "run 0 step 3 lengths"},
      {"reset_zeroes_storage", "run m\nopen a rows=1 capacity=4\nappend a 3\nreset a\n", "run 0 step 2 lengths"},
      {"sessions_outlive_run", "run m\nopen a rows=1 capacity=4\nrun m\nopen a rows=1 capacity=4\n", "run 1 step 0 status"},
      {"stale_length", "run m\ncomplete 3 new=1\ncomplete 3 new=1\n", "run 0 step 1 status"},
      {"stale_length_whole_prompt", "run m\ncomplete 3 1 new=1\ncomplete 3 1 new=1\n", "run 0 step 1 lengths"},
      {"stop_outlives_call", "run m\ncomplete 3 new=2 stop=0,1,2,3,4,5,6,7\ncomplete 3 new=2\n", "run 0 step 1 lengths"},
      {"suppression_one_late", "run m\nopen a rows=1 capacity=8\ngenerate a 3 new=2 stop=0,1,2,3,4,5,6 min_new=1\n",
       "run 0 step 1 tokens"},
      {"tail_overlaps_by_one", "run m\ncomplete 3 1 new=1\ncomplete 3 2 new=1\n", "run 0 step 1 calls"},
      {"closed_twice",
       "run m\nopen a rows=1 capacity=4\nrun m\nopen a rows=1 capacity=4\nopen b rows=1 capacity=4\nappend a 3\nappend b "
       "1\nappend a 4\n",
       "run 1 step 4 logits"},
      {"crop_first_layer_only", "run m\nopen a rows=1 capacity=4\nappend a 3\ncrop a 0\nappend a 1\n",
       "run 0 step 2 layer_lengths"},
      {"crop_to_zero_keeps_all", "run m\nopen a rows=1 capacity=4\nappend a 3\ncrop a 0\nappend a 1\n", "run 0 step 2 lengths"},
      {"exact_hit_keeps_logits", "run m\ncomplete 3 1 new=1\ncomplete 3 1 new=1\n", "run 0 step 1 calls"},
      {"retained_cache_recycled",
       "run m\ncomplete 3 new=1\nrun m\nopen a rows=1 capacity=4\nappend a 6\ncomplete 5 new=1\nappend a 1\n",
       "run 1 step 3 logits"},
      {"unknown_token_clipped", "run m\nopen a rows=1 capacity=4\nappend a 8\n", "run 0 step 1 status"},
      {"crop_leaves_position", "run m\nopen a rows=1 capacity=8\nappend a 3\ncrop a 0\nappend a 1\n", "run 0 step 3 logits"},
      {"decode_kernel_differs", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"first_row_masked", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"half_logits", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"halved_in_company", "run m\nopen a rows=1 capacity=4\nopen b rows=1 capacity=4\nappend b 3\n", "run 0 step 2 logits"},
      {"kernel_by_row_count", "run m\nopen a rows=2 capacity=4\nappend a 3 | 1\n", "run 0 step 1 logits"},
      {"kernel_by_unused_slots", "run m\nopen a rows=1 capacity=4\npoison a\nappend a 3\n", "run 0 step 2 logits"},
      {"length_in_steps", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 lengths"},
      {"length_read_flushes", "run m\nopen a rows=1 capacity=4\nlength a\nappend a 3\n", "run 0 step 2 logits"},
      {"placeholder_for_last_token", "run m\nopen a rows=1 capacity=8\ngenerate a 3 new=1\nappend a 1\n", "run 0 step 2 logits"},
      {"position_from_buffer_end", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"refused_append_moves_position", "run m\nopen a rows=1 capacity=1\nappend a 3 3\nappend a 1\n", "run 0 step 2 logits"},
      {"reset_leaves_layout", "run m\nopen a rows=1 capacity=4\nappend a 3\nreset a\nappend a 1\n", "run 0 step 3 logits"},
      {"shift_outlives_call", "run m\ncomplete 3 new=8\ncomplete 3 new=8\n", "run 0 step 1 calls"},
      {"stop_list_refused", "run m\ncomplete 3 new=1 stop=0,1\n", "run 0 step 0 status"},
      {"stop_seen_one_late", "run m\ncomplete 3 new=2 stop=0,1,2,3,4,5,6,7\n", "run 0 step 0 lengths"},
      {"write_index_is_length", "run m\nopen a rows=1 capacity=4\nappend a 3 keep=false\n", "run 0 step 1 lengths"},
      {"head_tied_anyway", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits", kLlama},
      {"key_positions_survive_crop", "run m\nopen a rows=1 capacity=4\nappend a 3 1\ncrop a 1\nappend a 4\n",
       "run 0 step 3 logits", kLlama},
      {"kv_head_by_modulo", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits", kLlama},
      {"rope_pairs_neighbours", "run m\nopen a rows=1 capacity=4\nappend a 3 1\n", "run 0 step 1 logits", kLlama},
      {"rope_position_from_call", "run m\nopen a rows=1 capacity=4\nappend a 3\nappend a 1\n", "run 0 step 2 logits", kLlama},
      {"recompiles_each_step", "run m\ncomplete 3 new=2\n", "run 0 step 0 compilations"},
      {"graph_key_misses_rows", "run m\nopen a rows=1 capacity=4\nappend a 3\nopen b rows=2 capacity=4\nappend b 3 | 1\n",
       "run 0 step 3 compilations"},
      {"graph_key_misses_capacity",
       "run m\nopen a rows=1 capacity=8\nappend a 3\nopen b rows=1 capacity=9\nappend b 3 1 4 1 5 2 6 5 3\n",
       "run 0 step 3 compilations"},
      {"positions_baked_in", "run m\nopen a rows=1 capacity=4\nappend a 3\nappend a 1 4\n", "run 0 step 2 logits"},
      {"write_slot_baked_in", "run m\nopen a rows=1 capacity=4\nappend a 3\nappend a 1 4\n", "run 0 step 2 logits"},
      {"mask_baked_in", "run m\nopen a rows=1 capacity=4\nappend a 3 1\nappend a 1 4\n", "run 0 step 2 logits"},
      {"cache_baked_in", "run m\nopen a rows=1 capacity=4\nappend a 3\nopen b rows=1 capacity=4\nappend b 1\nappend a 4 1\n",
       "run 0 step 4 logits"},
      {"lifetime_ends_early", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"output_overwritten", "run m\nopen a rows=1 capacity=9\nappend a 3 1 4 1 5 2 6 5 3 want=all\n", "run 0 step 1 logits"},
      {"pads_visible", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"eager_after_recompile", "run m\nrecompile\ncomplete 3 new=1\n", "run 0 step 1 compilations"},
      {"chunk_not_padded", "run m\ncomplete 3 1 new=1\n", "run 0 step 0 compilations"},
      {"position_from_padded_shape", "run m\nopen a rows=1 capacity=4\nappend a 3\nappend a 1\n", "run 0 step 2 logits"},
      {"activation_lowered_wrong", "run m\nopen a rows=1 capacity=4\nappend a 3\n", "run 0 step 1 logits"},
      {"rope_theta_ignored", "run m\nopen a rows=1 capacity=4\nappend a 3 1\n", "run 0 step 1 logits", kLlama},
  };
  return table;
}

/// Host and planted bug as on the command line, in the configuration that has it.
std::string subject(const std::string& name, const backends::Defect& defect) {
  return name + (defect.configuration.empty() ? "" : "/" + defect.configuration);
}
std::string host_of(const backends::Defect& defect) { return subject(defect.host, defect); }
std::string planted_in(const backends::Defect& defect) { return subject(defect.host + "+" + defect.name, defect); }

const backends::Defect& defect_named(const std::string& name) {
  const auto& all = backends::defects();
  return *std::find_if(all.begin(), all.end(), [&](const backends::Defect& defect) { return defect.name == name; });
}

class PlantedBug : public ::testing::TestWithParam<Minimal> {};

INSTANTIATE_TEST_SUITE_P(Names, PlantedBug, ::testing::ValuesIn(minimal_traces()),
                         [](const auto& minimal) { return minimal.param.defect; });

TEST_P(PlantedBug, ShowsOnItsMinimalTraceWhereItsHostIsRight) {
  const backends::Defect& defect = defect_named(GetParam().defect);
  const Case value = case_of(GetParam().trace, GetParam().model);
  EXPECT_EQ(value.trace.steps(), defect.known_steps);
  EXPECT_THAT(faults_of(host_of(defect), value), IsEmpty());
  EXPECT_EQ(first_difference(execute_on(host_of(defect), value.trace), execute_on(planted_in(defect), value.trace)),
            GetParam().shows);
}

TEST_P(PlantedBug, DoesNotShowOnePlainCallEarlier) {
  const backends::Defect& defect = defect_named(GetParam().defect);
  Case value = case_of(GetParam().trace, GetParam().model);
  value.trace.last_run()->steps.pop_back();
  const bool earlier =
      GetParam().shows < fmt::format("run {} step {}", value.trace.runs() - 1, value.trace.last_run()->steps.size());
  const std::string shown =
      first_difference(execute_on(host_of(defect), value.trace), execute_on(planted_in(defect), value.trace));
  EXPECT_EQ(shown == "none", !earlier) << shown;
}

TEST(PlantedBugs, EveryOneHasAMinimalTraceAReportAndLaws) {
  std::set<std::string> traced;
  for (const Minimal& minimal : minimal_traces()) traced.insert(minimal.defect);
  for (const backends::Defect& defect : backends::defects()) {
    EXPECT_EQ(traced.count(defect.name), 1U) << defect.name;
    EXPECT_THAT(defect.report, ::testing::ContainsRegex("[A-Za-z-]+/[A-Za-z0-9.-]+#[0-9]+")) << defect.name;
    EXPECT_THAT(defect.laws, Not(IsEmpty())) << defect.name;
  }
  EXPECT_EQ(traced.size(), backends::defects().size());
}

TEST(PlantedBugs, EveryFoundingAndTwinLawHasOneThatItMustCatch) {
  std::set<std::string> laws;
  for (const backends::Defect& defect : backends::defects()) laws.insert(defect.laws.begin(), defect.laws.end());
  for (const char* law : {"seq_length_is_integral",
                          "seq_length_counts_tokens",
                          "tail_slice_is_exact",
                          "logits_match_reference",
                          "greedy_tokens_match_reference",
                          "repeat_call",
                          "reset_is_fresh",
                          "chunked_append",
                          "crop_forgets",
                          "compile_budget",
                          "eager_equals_compiled",
                          "shapes_stay_static",
                          "compile_order_is_free",
                          "overflow_is_refused",
                          "bad_calls_are_refused",
                          "refusals_are_atomic",
                          "context_matters",
                          "valid_calls_are_answered",
                          "logits_are_finite",
                          "stops_where_it_should",
                          "continues_conversation",
                          "sessions_are_isolated",
                          "observing_changes_nothing",
                          "capacity_is_invisible",
                          "poison_is_unread",
                          "rows_are_independent"})
    EXPECT_EQ(laws.count(law), 1U) << law;
}

TEST(PlantedBugs, TheFoundingReportFeedsAnEmptyTailOrTheWholePromptAgain) {
  const std::string twice = "run m\ncomplete 3 1 new=1\ncomplete 3 1 new=1\n";
  const std::vector<Report> empty = reports_of("static_cache+stale_length", "run m\ncomplete 3 1 new=2\ncomplete 3 1 new=2\n");
  EXPECT_EQ(empty[1].calls->front().tokens, (Rows{{}}));
  EXPECT_EQ(empty[1].calls->front().shape, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(empty[1].status, Status::kFailed);
  const std::vector<Report> whole = reports_of("static_cache+stale_length_whole_prompt", twice);
  EXPECT_EQ(whole[1].calls->front().tokens, (Rows{{3, 1}}));
  EXPECT_EQ(whole[1].lengths->values.front(), Value(IntegerValue{5}));
}

TEST(PlantedBugs, TheArrayIsWhatTheReportSays) {
  const Value length =
      reports_of("static_cache+array_length", "run m\nopen a rows=1 capacity=4\nappend a 3 1\n")[1].lengths->values.front();
  EXPECT_EQ(length, Value(ArrayValue{"int64", {1}, {2}, "cpu"}));
}

}  // namespace
}  // namespace cachet
