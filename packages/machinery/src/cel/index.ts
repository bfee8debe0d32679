/**
 * CEL as Kubernetes speaks it: validation rules, admission policies, match conditions.
 *
 *     const environment = kubernetesEnvironment.extend({ variables: { self: declaredObject("self", […]) } });
 *     const compilation = compile("self.replicas >= 0", environment, { resultTypes: [BOOL] });
 *     if (!compilation.ok) return compilation.message;
 *     const { result } = compilation.program.evaluate({ self: object.spec });
 *     if (result instanceof CelError) return result.message;
 *
 * Expressions come from tenants: parsing, checking, estimating and evaluating are all bounded
 * (limits.ts).
 */
export { Environment } from "./check/environment.ts";
export { type Compilation, compile, compileResumable } from "./compile.ts";
export { estimateCost } from "./cost/estimator.ts";
export { type Activation, type Evaluation, Program } from "./eval/program.ts";
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
export { jsonPatchLibrary } from "./library/jsonpatch.ts";
export { kubernetesEnvironment } from "./library/kubernetes-environment.ts";
export { mathLibrary } from "./library/math.ts";
export { JSON_PATCH_TYPE, OBJECT_TYPE, withMutationTypes } from "./library/mutation-types.ts";
export {
  COST_MATCH_CONDITIONS_MAX,
  COST_PER_CALL_MAX,
  COST_PER_OBJECT_MAX,
  ESTIMATE_PER_RULE_MAX,
  MESSAGE_EXPRESSION_BYTES_MAX,
} from "./limits.ts";
export { unparse } from "./syntax/unparser.ts";
export {
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
  nullable,
  type PropertyDeclaration,
} from "./types/declared-type.ts";
export { escapeProperty } from "./types/identifier.ts";
export { BOOL, DYN, INT, listOf, NULL, STRING, structType, Type } from "./types/type.ts";
export {
  formatIp,
  type IpAddress,
  type IpPrefix,
  isMappedIpv4,
  maskedPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
} from "./values/ip-address.ts";
export { type JsonCapacity, jsonCapacity, toJson } from "./values/to-json.ts";
export {
  CelError,
  CelLazyObject,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelStruct,
  type CelValue,
} from "./values/value.ts";
