export { resourceQuotaController } from "./controller.ts";
