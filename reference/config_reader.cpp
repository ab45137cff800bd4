// The strict reading of config.json that every family shares, with the keys that say nothing about logits.
#include "reference/config_reader.h"

#include <cmath>

namespace cachet::reference {

namespace {

/// Of PreTrainedConfig and of older files: bookkeeping, training, and defaults of the generation loop, which cachet sets itself.
const std::set<std::string>& common_keys() {
  static const std::set<std::string> keys = {"_attn_implementation_autoset",
                                             "_commit_hash",
                                             "_name_or_path",
                                             "architectures",
                                             "bad_words_ids",
                                             "begin_suppress_tokens",
                                             "bos_token_id",
                                             "chunk_size_feed_forward",
                                             "cross_attention_hidden_size",
                                             "decoder_start_token_id",
                                             "diversity_penalty",
                                             "do_sample",
                                             "dtype",
                                             "early_stopping",
                                             "encoder_no_repeat_ngram_size",
                                             "eos_token_id",
                                             "exponential_decay_length_penalty",
                                             "finetuning_task",
                                             "forced_bos_token_id",
                                             "forced_eos_token_id",
                                             "gradient_checkpointing",
                                             "id2label",
                                             "is_decoder",
                                             "label2id",
                                             "length_penalty",
                                             "max_length",
                                             "min_length",
                                             "model_type",
                                             "no_repeat_ngram_size",
                                             "num_beam_groups",
                                             "num_beams",
                                             "num_labels",
                                             "num_return_sequences",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "output_past",
                                             "output_scores",
                                             "pad_token_id",
                                             "prefix",
                                             "problem_type",
                                             "remove_invalid_values",
                                             "repetition_penalty",
                                             "return_dict",
                                             "return_dict_in_generate",
                                             "sep_token_id",
                                             "suppress_tokens",
                                             "task_specific_params",
                                             "temperature",
                                             "tf_legacy_loss",
                                             "tokenizer_class",
                                             "top_k",
                                             "top_p",
                                             "torch_dtype",
                                             "torchscript",
                                             "transformers_version",
                                             "typical_p",
                                             "use_bfloat16",
                                             "use_cache"};
  return keys;
}

bool is_null(const ConfigValue* value) { return !value || std::holds_alternative<std::monostate>(*value); }

}  // namespace

const ConfigValue* ConfigReader::find(const std::string& key) {
  asked_.insert(key);
  const auto it = config_.find(key);
  return it == config_.end() ? nullptr : &it->second;
}

bool ConfigReader::reads_inside(const std::string& object) const {
  const auto next = asked_.lower_bound(object + ".");
  return next != asked_.end() && next->rfind(object + ".", 0) == 0;
}

void ConfigReader::complain(const std::string& key, const std::string& what) {
  if (!error_) error_ = Error{"", 0, key + " " + what};
}

int ConfigReader::size(const std::string& key) {
  if (is_null(find(key))) {
    complain(key, "is missing; expected an integer");
    return 1;
  }
  return size(key, 1);
}

int ConfigReader::size(const std::string& key, int fallback) {
  const ConfigValue* value = find(key);
  if (is_null(value)) return fallback;
  const auto* integer = std::get_if<std::int64_t>(value);
  if (!integer || *integer < 1 || *integer > kLargestSize) {
    complain(key, "has a bad value; expected an integer from 1 to " + std::to_string(kLargestSize));
    return 1;
  }
  return static_cast<int>(*integer);
}

double ConfigReader::positive(const std::string& key, double fallback) {
  const ConfigValue* value = find(key);
  if (is_null(value)) return fallback;
  const auto* integer = std::get_if<std::int64_t>(value);
  const auto* real = std::get_if<double>(value);
  const double number = real ? *real : integer ? static_cast<double>(*integer) : 0;
  if (!std::isfinite(number) || number <= 0) complain(key, "has a bad value; expected a number above 0");
  return number;
}

std::string ConfigReader::text(const std::string& key, const std::string& fallback) {
  const ConfigValue* value = find(key);
  if (is_null(value)) return fallback;
  if (const auto* string = std::get_if<std::string>(value)) return *string;
  complain(key, "has a bad value; expected a string");
  return fallback;
}

bool ConfigReader::flag(const std::string& key, bool fallback) {
  const ConfigValue* value = find(key);
  if (is_null(value)) return fallback;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  complain(key, "has a bad value; expected true or false");
  return fallback;
}

bool ConfigReader::has(const std::string& key) { return !is_null(find(key)); }

void ConfigReader::require_null(const std::string& key) {
  if (has(key)) complain(key, "is not supported; expected null");
}

void ConfigReader::require(const std::string& key, bool value) {
  const ConfigValue* found = find(key);
  if (is_null(found)) return;
  const auto* flag = std::get_if<bool>(found);
  if (!flag || *flag != value) complain(key, std::string("is not supported; expected ") + (value ? "true" : "false"));
}

Result<ModelSpec> ConfigReader::finish(const ModelSpec& spec, const std::set<std::string>& harmless) {
  for (const auto& [key, value] : config_) {
    if (asked_.count(key) || harmless.count(key) || common_keys().count(key)) continue;
    // What an object holds is judged with the object, unless the family reads inside it.
    if (const auto dot = key.find('.'); dot != std::string::npos && !reads_inside(key.substr(0, dot))) continue;
    // Where a flag of another family is written out as off, null or empty it says nothing.
    const bool* flag = std::get_if<bool>(&value);
    const auto* string = std::get_if<std::string>(&value);
    if (is_null(&value) || (flag && !*flag) || (string && (string->empty() || *string == "{}" || *string == "[]"))) continue;
    complain(key, "is not known; expected only keys that a decoder of this family has");
  }
  if (error_) return *error_;
  return spec;
}

}  // namespace cachet::reference
