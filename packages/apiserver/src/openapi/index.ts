export { isOpenApiPath, serveOpenApi } from "./openapi.ts";
