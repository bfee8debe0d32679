/**
 * The known differences from the conformance suite, which Kubernetes has, too.
 *
 * Every entry is run and must differ, so an outdated entry fails the test.
 */
export interface Difference {
  /** `file/section/name`; a whole file or section if it ends there. */
  readonly test: string;
  readonly reason: string;
}

export const differences: readonly Difference[] = [
  {
    test: "block_ext",
    reason:
      "cel.block is what optimizers rewrite expressions to; Kubernetes has no such optimizer and no such macro",
  },
  {
    test: "type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate",
    reason:
      "the suite wants optional_type(int) for [optional.of(1), null][0]; cel-go, which Kubernetes uses, infers null",
  },
  ...["map_null_entry_no_such_key", "map_present_key_invalid_field"].map((name) => ({
    test: `optionals/optionals/${name}`,
    reason:
      "the suite wants an error where what has no fields is asked for one; Kubernetes leaves that off",
  })),
];

/**
 * What the suite's cases are evaluated with and Kubernetes lacks; here they are on, since the suite
 * asks for them: `math.*`, `base64.*`, `cel.bind`, `"text".reverse()`, mixed literals, and the
 * newer form of `format`.
 */
export const beyondKubernetes: readonly { readonly expr: string; readonly reason: string }[] = [
  {
    expr: "math.greatest(1, 2) == 2",
    reason: "the math extension is not part of Kubernetes' environment",
  },
  {
    expr: "base64.encode(b'hello') == 'aGVsbG8='",
    reason: "the encoders extension is not part of it",
  },
  { expr: "cel.bind(x, 1, x) == 1", reason: "the bindings extension is not part of it" },
  {
    expr: "'abc'.reverse() == 'cba'",
    reason: "Kubernetes stays with version 2 of the string extension",
  },
  { expr: "[1, 'a'].size() == 2", reason: "literals must be homogeneous in Kubernetes" },
  { expr: "'%d'.format([1.0]) == '1'", reason: "Kubernetes stays with the first form of format" },
];
