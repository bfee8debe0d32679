/** WebSockets on upgraded connections: for tunnels, and for servers that simulate containers. */
export { acceptKey, clientHandshake, serverHandshake } from "./handshake.ts";
export { WebSocketConnection } from "./web-socket.ts";
