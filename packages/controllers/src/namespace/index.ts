export { namespaceController } from "./controller.ts";
