export { applyTypeOf } from "./apply-type.ts";
export { configMap, namespace, secret } from "./core-v1.ts";
export { type Decoded, decodeShape, isBase64, ShapeError } from "./decode.ts";
export { condition, deleteOptions, labelSelector, objectMeta } from "./meta.ts";
export { patchRulesOf } from "./patch-rules.ts";
export { decodeEnvelope, decodeMessage, type Envelope, ProtobufError } from "./protobuf.ts";
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
  type ListTraits,
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
export { WireError } from "./wire-reader.ts";
