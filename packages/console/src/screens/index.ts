/** The pages of the console. */
export { Console } from "./console.tsx";
