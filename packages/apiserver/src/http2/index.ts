export { Backlog } from "./backlog.ts";
export {
  Connection,
  type ConnectionLimits,
  type ConnectionOptions,
} from "./connection.ts";
export { Intake, type IntakeLimits } from "./intake.ts";
export { Outlet } from "./outlet.ts";
export { errorCode } from "./protocol.ts";
export { BodyError, type ServerStream } from "./server-stream.ts";
