// Every page: the switch between light and dark, and closed details that are opened for print.
const root = document.documentElement;
const theme = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function nameTheme() {
  theme.textContent = isDark() ? "light" : "dark";
  theme.setAttribute("aria-label", `Switch to ${theme.textContent} colours`);
}

theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
prefersDark.addEventListener("change", nameTheme);
theme.hidden = false;
nameTheme();

let openedForPrint = [];
addEventListener("beforeprint", () => {
  openedForPrint = [...document.querySelectorAll("details.printed:not([open])")];
  openedForPrint.forEach((details) => { details.open = true; });
});
addEventListener("afterprint", () => {
  openedForPrint.forEach((details) => { details.open = false; });
});
