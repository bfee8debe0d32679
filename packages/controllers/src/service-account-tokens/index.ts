export {
  type AccountOfToken,
  type IssueToken,
  type ServiceAccountTokensOptions,
  serviceAccountTokensController,
} from "./controller.ts";
