/**
 * The client: isomorphic, no sockets. Transports for Node live in `transport/`, kubeconfigs in
 * `kubeconfig/`.
 */

export { onAbort, sleep as pause, untilAborted } from "@kcp-ts/machinery/base";
export { AbortableBody } from "./abortable-body.ts";
export {
  type CallOptions,
  Client,
  type ClientOptions,
  type ClientRequest,
  type OnWritten,
  type ReadResponse,
  type RequestSummary,
  type ResponseSummary,
} from "./client.ts";
export { Connectivity, concernsConnection } from "./connectivity.ts";
export {
  type Deadline,
  type DeadlineOptions,
  startDeadline,
  timeoutError,
} from "./deadline.ts";
export { type ExplainOptions, explainError } from "./explain-error.ts";
export { FailureLog } from "./failure-log.ts";
export { FetchTransport, type FetchTransportOptions } from "./fetch-transport.ts";
export { type FieldConflict, fieldConflicts } from "./field-conflicts.ts";
export {
  type InProcessHandler,
  type InProcessResponse,
  InProcessTransport,
} from "./in-process-transport.ts";
export { consoleLog, type Log, logAbout, ProgramLog, silentLog } from "./log.ts";
export type { MemberTree } from "./member-picker.ts";
export {
  type Applied,
  type ApplyInput,
  clusterAnnotation,
  type DynamicObject,
  type KubernetesObject,
  type ListMeta,
  type ManagedFieldsEntry,
  type MetadataInput,
  type ObjectInput,
  type ObjectList,
  type ObjectMeta,
  type OrUndefined,
  type OwnerReference,
  type PartialObjectMetadata,
  type StringMap,
  stringMember,
  type Table,
  type TableColumn,
  type TableRow,
  type WriteInput,
} from "./object.ts";
export { type ObjectIdentity, ObservedObject } from "./observed-object.ts";
export type {
  ApplyOptions,
  DeleteOptions,
  GetOptions,
  JsonPatchOperation,
  ListOptions,
  MemberOptions,
  ObjectName,
  PageOptions,
  Patch,
  SelectorOptions,
  TableOptions,
  WatchOptions,
  WriteOptions,
} from "./options.ts";
export type { LazyList } from "./parse-list.ts";
export {
  apiVersionOf,
  defineResource,
  formatResource,
  type Resource,
  type ResourcePath,
  resourcePath,
} from "./resource.ts";
export { ResourceClient } from "./resource-client.ts";
export { type BodySource, responseBody } from "./response-body.ts";
export { type ResponseLimits, untrustedServerLimits } from "./response-limits.ts";
export {
  approximateBytes,
  ExclusiveLane,
  type MemoryAccount,
  outOfMemoryError,
  type ResponseMemory,
} from "./response-memory.ts";
export { type RetryOptions, retryOnConflict } from "./retry-on-conflict.ts";
export { serverTransport } from "./server-transport.ts";
export type { StatusOf } from "./status-patch.ts";
export { SubresourceClient } from "./subresource-client.ts";
export {
  type ByteStream,
  headerText,
  isTransportError,
  isUpgraded,
  type Method,
  type RequestHeaders,
  type ResponseBody,
  type ResponseHeaders,
  type Transport,
  TransportError,
  type TransportErrorCode,
  type TransportRequest,
  type TransportResponse,
  type UpgradedResponse,
  type UpgradeResponse,
} from "./transport.ts";
export { UnreadableObjectError } from "./unreadable.ts";
export { type Bookmark, initialEventsEndAnnotation, type WatchEvent } from "./watch.ts";
