/**
 * The embedded backend: one machine, one process, a directory.
 */
export { EmbeddedStorage, type EmbeddedStorageOptions } from "./embedded-storage.ts";
export type { Engine, EngineHome } from "./engine.ts";
export { LevelHome } from "./level-engine.ts";
