/**
 * The entry point `kcp-ts/apiserver`: the API server by itself, and its components, for custom
 * types, plug-ins and servers.
 */

export * from "@kcp-ts/apiserver";
export type { Storage } from "@kcp-ts/apiserver/storage";
export { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
export { runYielding, systemClock, systemRandom } from "@kcp-ts/machinery/base";
export {
  bool,
  bytes,
  double,
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
  objectMeta,
  quantity,
  raw,
  type Shape,
  set,
  string,
  time,
} from "@kcp-ts/machinery/shape";
export {
  type FieldError,
  fieldError,
  statusError,
} from "@kcp-ts/machinery/status";
export { issueServingMaterial, type ServingMaterial } from "@kcp-ts/pki";
