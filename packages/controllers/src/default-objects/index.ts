export { type DefaultObjectsOptions, defaultObjectsController } from "./controller.ts";
