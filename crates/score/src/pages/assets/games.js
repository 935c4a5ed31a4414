// @ts-check
// The list of games is whole as the server sent it.
export {};
