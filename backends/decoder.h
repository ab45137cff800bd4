// Decoders in float32 over a cache: the one forward pass of the built-in backends. Families differ in the weights that they have
// and in a few choices, which decoder_families.cpp reads; the pass is the same.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/seams.h"
#include "reference/model.h"

namespace cachet::backends {

/// The keys and values of one row as the decoder reads and writes them.
class KvRow {
 public:
  virtual ~KvRow() = default;
  virtual RowFacts facts() const = 0;
  virtual int past(int layer) const = 0;  ///< keys that a call finds
  virtual bool holds(int slot) const = 0;
  virtual void write(int layer, int slot, const float* key, const float* value) = 0;  ///< of (kv_width)
  virtual const float* key(int layer, int slot) const = 0;
  virtual const float* value(int layer, int slot) const = 0;
};

/// An engine's own error, as an exception would name it.
struct Failure {
  std::string kind;
  std::string message;
};

class Decoder {
 public:
  struct Linear {
    std::vector<float> weight, bias;
    int in = 0, out = 0;
  };  ///< weight (out, in); no bias where it is empty
  struct Norm {
    std::vector<float> gain, bias;
  };  ///< of the mean square alone where the bias is empty
  struct Block {
    Norm ln_1, ln_2;
    Linear c_attn, c_proj, c_fc, mlp_proj;  ///< c_attn: queries, keys, values
    Linear gate;                            ///< without outputs where the MLP has none
  };
  struct Weights {
    int heads = 0, kv_heads = 0, head = 0;  ///< how many queries and how many keys a token has, and the size of each
    std::vector<float> wte, wpe;            ///< (vocab, width), (context, width); no wpe where positions are rotary
    std::vector<float> lm_head;             ///< (vocab, width); empty: wte
    std::vector<float> frequencies;         ///< (head / 2) of rotary positions
    std::vector<Block> blocks;
    Norm ln_f;
    float (*activation)(float) = nullptr;
    float epsilon = 0;
  };

  /// An Error refuses a model of another family.
  static Result<std::unique_ptr<Decoder>> make(const ModelPtr& model, const Seams& seams);

  /// Writes the keys and values of `tokens` behind what the row holds; `logits` becomes (tokens, vocab).
  std::optional<Failure> feed(KvRow& row, const Tokens& tokens, std::vector<float>& logits) const;

  const ModelSpec& spec() const { return spec_; }
  const Weights& weights() const { return weights_; }
  int kv_width() const {
    return weights_.kv_heads * weights_.head;
  }  ///< numbers in the keys of a token in a layer, and in its values
  const Seams& seams() const { return seams_; }

 private:
  Decoder(const Model& model, const Seams& seams);
  void read_gpt2(const Model& model);
  void read_llama(const Model& model);
  void norm(const Norm& norm, const float* x, float* y) const;
  void apply(const Linear& linear, const float* x, float* y) const;
  bool rotary() const { return !weights_.frequencies.empty(); }
  void rotate(float* heads, int count, int position) const;
  void attend(const KvRow& row, int layer, const Fed& fed, const float* query, float* out) const;
  void mlp(const Block& weights, const float* x, float* out) const;
  void block(const Block& weights, KvRow& row, int layer, const std::vector<Fed>& fed, std::vector<float>& x) const;

  ModelSpec spec_;
  Seams seams_;
  Weights weights_;
};

}  // namespace cachet::backends
