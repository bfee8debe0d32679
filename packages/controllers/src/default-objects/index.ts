export { type DefaultObjectsOptions, defaultObjectsController } from "./controller.ts";
export { type DefaultObject, defaultObjectsIn } from "./ensure.ts";
