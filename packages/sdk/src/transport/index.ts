/** Transports for Node. The interface and the transports without sockets are in `client/`. */
export type { TlsSettings } from "./dial.ts";
export { NodeTransport, type NodeTransportOptions } from "./node-transport.ts";
export type { PermitsAddress } from "./permitted-addresses.ts";
