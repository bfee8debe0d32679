export { applyTypeOf, unownedFieldsOf } from "./apply-type.ts";
export {
  type Decoded,
  decodeShape,
  decodeShapeOfProtobuf,
  decodeShapeResumable,
  ShapeError,
} from "./decode.ts";
export { FieldCount } from "./field-count.ts";
export * from "./generated/index.ts";
export { messageDepthMax } from "./message-decoder.ts";
export { nodeMetrics, podMetrics } from "./metrics-v1beta1.ts";
export { type MissingFields, narrowShape } from "./narrow-shape.ts";
export { patchRulesOf } from "./patch-rules.ts";
export { podSessionKinds } from "./pod-session-kinds.ts";
export { decodeEnvelope, decodeMessage, decodeMessageResumable } from "./protobuf.ts";
export {
  formatNanos,
  isIntegerQuantity,
  isNegativeQuantity,
  parseQuantity,
  type QuantityNanos,
  quantityNanos,
} from "./quantity.ts";
export {
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
  type ScalarType,
  type Shape,
  set,
  string,
  time,
} from "./shape.ts";
