export { compressBytesMin } from "./compress.ts";
export { Listener, type ListenerOptions, listenerLimits, type TlsMaterial } from "./listener.ts";
