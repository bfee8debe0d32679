export {
  mutatingAdmissionPolicy,
  mutatingAdmissionPolicyBinding,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
} from "./admission-policies-v1.ts";
export {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from "./admissionregistration-v1.ts";
export { customResourceDefinition, jsonSchemaProps } from "./apiextensions-v1.ts";
export { applyTypeOf, unownedFieldsOf } from "./apply-type.ts";
export { selfSubjectReview, tokenReview } from "./authentication-reviews-v1.ts";
export { tokenRequest } from "./authentication-v1.ts";
export {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from "./authorization-v1.ts";
export { scale } from "./autoscaling-v1.ts";
export { certificateSigningRequest } from "./certificates-v1.ts";
export { lease } from "./coordination-v1.ts";
export {
  configMap,
  event,
  namespace,
  resourceQuota,
  secret,
  serviceAccount,
} from "./core-v1.ts";
export {
  type Decoded,
  decodeShape,
  decodeShapeOfProtobuf,
  decodeShapeResumable,
  ShapeError,
} from "./decode.ts";
export { eventsV1Event } from "./events-v1.ts";
export { FieldCount } from "./field-count.ts";
export { flowSchema, priorityLevelConfiguration } from "./flowcontrol-v1.ts";
export { messageDepthMax } from "./message-decoder.ts";
export { condition, deleteOptions, labelSelector, listMeta, objectMeta, status } from "./meta.ts";
export { nodeMetrics, podMetrics } from "./metrics-v1beta1.ts";
export { patchRulesOf } from "./patch-rules.ts";
export { podAttachOptions, podExecOptions, podPortForwardOptions } from "./pod-options-v1.ts";
export { decodeEnvelope, decodeMessage, decodeMessageResumable } from "./protobuf.ts";
export {
  formatNanos,
  isIntegerQuantity,
  isNegativeQuantity,
  parseQuantity,
  type QuantityNanos,
  quantityNanos,
} from "./quantity.ts";
export { clusterRole, clusterRoleBinding, role, roleBinding } from "./rbac-v1.ts";
export {
  atomicMap,
  bool,
  bytes,
  double,
  type Field,
  type FieldNotation,
  int32,
  int64,
  intOrString,
  json,
  list,
  listMap,
  type MessageShape,
  map,
  message,
  quantity,
  raw,
  replacedByPatch,
  type ScalarType,
  type Shape,
  set,
  string,
  time,
  zeroless,
} from "./shape.ts";
