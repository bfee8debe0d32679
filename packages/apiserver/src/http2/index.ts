export { Connection } from "./connection.ts";
export { errorCode } from "./protocol.ts";
export { BodyError, type ServerStream } from "./server-stream.ts";
