export { type IssueToken, serviceAccountTokensController } from "./controller.ts";
