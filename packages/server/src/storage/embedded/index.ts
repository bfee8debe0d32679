/**
 * The embedded backend: one machine, one process, a directory.
 */
export { EmbeddedStorage, type EmbeddedStorageOptions } from "./embedded-storage.ts";
