export { defaultObjectsController } from "./controller.ts";
export { ensureDefaultNamespace } from "./default-namespace.ts";
export { defaultObjectsIn } from "./ensure.ts";
