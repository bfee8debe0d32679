export { endOnBrokenPipe } from "./broken-pipe.ts";
export { errorText } from "./error-text.ts";
