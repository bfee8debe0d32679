export {
  type ResourceQuotaController,
  type ResourceQuotaControllerOptions,
  resourceQuotaController,
} from "./controller.ts";
