/** The embedded backend: one machine, one process, a directory. */
export { EmbeddedStorage, type EmbeddedStorageOptions } from "./embedded-storage.ts";
export type { Engine, EngineLocation } from "./engine.ts";
export { LevelDbLocation } from "./level-engine.ts";
