/** WebSockets on connections that were handed over: for tunnels, and for servers that pretend to have containers. */
export { WebSocketError } from "./frames.ts";
export {
  acceptKey,
  clientHandshake,
  type ServerHandshake,
  serverHandshake,
} from "./handshake.ts";
export { WebSocketConnection, type WebSocketOptions } from "./web-socket.ts";
