export { Channel, type ChannelOptions } from "./channel.ts";
export {
  Connection,
  type ConnectionOptions,
  type Metadata,
} from "./connection.ts";
export type { TlsOptions } from "./dial.ts";
export { type Endpoint, parseEndpoint } from "./endpoint.ts";
export { type Delivery, GrpcError, grpcCode, OutageError } from "./grpc-error.ts";
export { MessageStream } from "./message-stream.ts";
export { callUnary, type UnaryOptions } from "./unary.ts";
