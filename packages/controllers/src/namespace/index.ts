export { type NamespaceControllerOptions, namespaceController } from "./controller.ts";
