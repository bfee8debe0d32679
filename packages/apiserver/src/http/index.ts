export { compressBytesMin } from "./compress.ts";
export {
  Listener,
  type ListenerLimits,
  type ListenerOptions,
  listenerLimits,
} from "./listener.ts";
export type { NamedTlsMaterial, TlsMaterial, TlsVersion } from "./tls.ts";
