/**
 * CEL as Kubernetes speaks it: validation rules, admission policies, match conditions.
 *
 *     const environment = kubernetesEnvironment.extend({ variables: { self: declaredObject("self", […]) } });
 *     const compilation = compile("self.replicas >= 0", environment, { resultTypes: [BOOL] });
 *     if (!compilation.ok) return compilation.message;
 *     const { result } = compilation.program.evaluate({ self: object.spec });
 *     if (result instanceof CelError) return result.message;
 *
 * Expressions come from tenants: parsing, checking, estimating and evaluating are all bounded (limits.ts).
 */
export { CheckedExpr } from "./check/checked-expr.ts";
export {
  Environment,
  type Extension,
  type Library,
  type StructConstructor,
} from "./check/environment.ts";
export {
  type CallContext,
  type FunctionDeclaration,
  fn,
  global,
  member,
  type Overload,
} from "./check/function-declaration.ts";
export { type Compilation, type CompileOptions, compile, compileResumable } from "./compile.ts";
export type { CostEstimate } from "./cost/estimate.ts";
export { estimateCost } from "./cost/estimator.ts";
export type { CancelReason } from "./eval/eval-context.ts";
export { type Activation, type Budget, type Evaluation, Program } from "./eval/program.ts";
export {
  AUTHORIZER_TYPE,
  type AuthorizationAttributes,
  type AuthorizationDecision,
  type Authorizer,
  CelAuthorizer,
  CelResourceCheck,
  RESOURCE_CHECK_TYPE,
} from "./library/authorizer.ts";
export { bindingsLibrary } from "./library/bindings.ts";
export { encodersLibrary } from "./library/encoders.ts";
export { jsonPatchLibrary } from "./library/jsonpatch.ts";
export { kubernetesEnvironment } from "./library/kubernetes-environment.ts";
export { mathLibrary } from "./library/math.ts";
export { JSON_PATCH_TYPE, OBJECT_TYPE, withMutationTypes } from "./library/mutation-types.ts";
export {
  COST_MATCH_CONDITIONS_MAX,
  COST_PER_CALL_MAX,
  COST_PER_OBJECT_MAX,
  ESTIMATE_PER_DEFINITION_MAX,
  ESTIMATE_PER_RULE_MAX,
  MESSAGE_EXPRESSION_BYTES_MAX,
} from "./limits.ts";
export { type Issue, printIssues } from "./syntax/source.ts";
export { unparse } from "./syntax/unparser.ts";
export {
  type DeclaredField,
  type DeclaredType,
  declaredBool,
  declaredBytes,
  declaredDate,
  declaredDateTime,
  declaredDouble,
  declaredDuration,
  declaredDynamic,
  declaredInt,
  declaredIntOrString,
  declaredLazy,
  declaredList,
  declaredMap,
  declaredObject,
  declaredOptional,
  declaredString,
  declaredValue,
  type ListOptions,
  nullable,
  type PropertyDeclaration,
  type TextBounds,
} from "./types/declared-type.ts";
export { escapeProperty, unescapeProperty } from "./types/identifier.ts";
export {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  formatType,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  structType,
  TIMESTAMP,
  Type,
  UINT,
} from "./types/type.ts";
export { ArrayList, ValueMap } from "./values/collections.ts";
export { CelDuration, CelTimestamp } from "./values/time.ts";
export { toJson } from "./values/to-json.ts";
export {
  CelError,
  CelLazyObject,
  CelList,
  CelMap,
  CelObject,
  CelOptional,
  type CelResult,
  CelStruct,
  CelTypeValue,
  CelUint,
  type CelValue,
} from "./values/value.ts";
