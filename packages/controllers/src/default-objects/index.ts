export { type DefaultObjectsOptions, defaultObjectsController } from "./controller.ts";
export { ensureDefaultNamespace } from "./default-namespace.ts";
export { type DefaultObject, defaultObjectsIn } from "./ensure.ts";
