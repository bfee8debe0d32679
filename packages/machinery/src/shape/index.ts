export {
  configMap,
  event,
  namespace,
  resourceQuota,
  secret,
  serviceAccount,
} from "./core-v1.ts";
export { type Decoded, decodeShape, isBase64, ShapeError } from "./decode.ts";
export { eventsV1Event } from "./events-v1.ts";
export { condition, deleteOptions, labelSelector, listMeta, objectMeta } from "./meta.ts";
export { patchRulesOf } from "./patch-rules.ts";
export { decodeEnvelope, decodeMessage, type Envelope, ProtobufError } from "./protobuf.ts";
export type { Field, ListTraits, MessageShape, ScalarType, Shape } from "./shape.ts";
export { WireError } from "./wire-reader.ts";
