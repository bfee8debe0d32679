/** WebSockets on upgraded connections: for tunnels, and for servers that simulate containers. */
export { WebSocketError } from "./frames.ts";
export {
  acceptKey,
  clientHandshake,
  type ServerHandshake,
  serverHandshake,
} from "./handshake.ts";
export { WebSocketConnection, type WebSocketOptions } from "./web-socket.ts";
