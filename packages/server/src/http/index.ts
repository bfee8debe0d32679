export { compressBytesMin } from "./compress.ts";
export {
  Listener,
  type ListenerLimits,
  type ListenerOptions,
  listenerLimits,
  type TlsMaterial,
} from "./listener.ts";
