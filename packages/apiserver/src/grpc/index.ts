/** A gRPC client on HTTP/2, for etcd and for KMS plug-ins. */
export { Channel } from "./channel.ts";
export { Connection, type Metadata } from "./connection.ts";
export type { TlsOptions } from "./dial.ts";
export { type Endpoint, parseEndpoint, parseUnixEndpoint } from "./endpoint.ts";
export { GrpcError, grpcCode, OutageError } from "./grpc-error.ts";
export { MessageStream } from "./message-stream.ts";
export { callUnary } from "./unary.ts";
