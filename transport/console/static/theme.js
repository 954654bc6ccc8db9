// Sets the theme before the page is painted. The choice stays in this browser.
(() => {
  const chosen = localStorage.getItem("seriatim-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
