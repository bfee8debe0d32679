export { customResourceDefinition, jsonSchemaProps } from "./apiextensions-v1.ts";
export { scale } from "./autoscaling-v1.ts";
export { configMap, namespace, secret } from "./core-v1.ts";
export { type Decoded, decodeShape, isBase64, ShapeError } from "./decode.ts";
export { condition, deleteOptions, labelSelector, objectMeta } from "./meta.ts";
export { patchRulesOf } from "./patch-rules.ts";
export { decodeEnvelope, decodeMessage, type Envelope, ProtobufError } from "./protobuf.ts";
export type { Field, ListTraits, MessageShape, ScalarType, Shape } from "./shape.ts";
export { WireError } from "./wire-reader.ts";
