// Judges e-invoices by their XML schemas and official rules (XSLT). judge_test.go runs it with Saxon:
//
//   java -cp /usr/share/java/Saxon-HE.jar Judge.java SHEETS FILES OUT
//
// SHEETS has lines of NAME, xslt or xsd, and PATH; FILES has lines of a file and the names of its sheets with commas between
// them. OUT gets a line for each file and sheet: the IDs of the broken rules with their flags, XSD, or DYN for a failure.
import net.sf.saxon.s9api.*;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.xml.sax.*;

public class Judge {
  public static void main(String[] a) throws Exception {
    Processor p = new Processor(false);
    Map<String,XsltExecutable> xs = new HashMap<>(); Map<String,Schema> sd = new HashMap<>(); Map<String,String[]> conf=new HashMap<>();
    for (String l : Files.readAllLines(Path.of(a[0]))) { String[] w=l.split("\t"); if (w.length==3) conf.put(w[0], w); }
    SchemaFactory sf = SchemaFactory.newInstance("http://www.w3.org/2001/XMLSchema");
    try (PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter(a[2])))) {
      int n=0;
      for (String l : Files.readAllLines(Path.of(a[1]))) {
        String[] w=l.split("\t"); if (w.length<2) continue;
        XdmNode doc=null; String bad=null;
        try { DocumentBuilder b=p.newDocumentBuilder(); doc=b.build(new StreamSource(new File(w[0]))); } catch (Exception e) { bad=e.getMessage(); }
        for (String s : w[1].split(",")) {
          String[] c=conf.get(s); StringBuilder r=new StringBuilder();
          if (bad!=null) { out.println(w[0]+"\t"+s+"\tPARSE"); continue; }
          if (c[1].equals("xsd")) {
            if (!sd.containsKey(s)) sd.put(s, sf.newSchema(new File(c[2])));
            Validator v=sd.get(s).newValidator(); final List<String> errs=new ArrayList<>();
            v.setErrorHandler(new ErrorHandler(){ public void warning(SAXParseException e){} public void error(SAXParseException e){errs.add(e.getMessage());} public void fatalError(SAXParseException e){errs.add(e.getMessage());}});
            try { v.validate(new StreamSource(new File(w[0]))); } catch (Exception e) { errs.add(e.getMessage()); }
            if (!errs.isEmpty()) r.append("XSD:").append(String.join(" | ", errs).replaceAll("[\t\n\r]"," "));
          } else {
            if (!xs.containsKey(s)) { XsltCompiler comp=p.newXsltCompiler(); xs.put(s, comp.compile(new StreamSource(new File(c[2])))); }
            try {
              XsltTransformer t=xs.get(s).load(); t.setInitialContextNode(doc);
              t.setErrorListener(new javax.xml.transform.ErrorListener(){ public void warning(javax.xml.transform.TransformerException e){} public void error(javax.xml.transform.TransformerException e){} public void fatalError(javax.xml.transform.TransformerException e){}});
              XdmDestination d=new XdmDestination(); t.setDestination(d); t.transform();
              TreeSet<String> ids=new TreeSet<>();
              for (XdmNode f : d.getXdmNode().select(net.sf.saxon.s9api.streams.Steps.descendant()).asListOfNodes()) {
                if (f.getNodeName()==null) continue; String ln=f.getNodeName().getLocalName();
                if (ln.equals("failed-assert")||ln.equals("successful-report")) {
                  String id=f.getAttributeValue(new QName("id")), fl=f.getAttributeValue(new QName("flag"));
                  if (fl==null) fl=f.getAttributeValue(new QName("role"));
                  if (id==null) { id="T:"+f.getStringValue().trim().replaceAll("\\s+","_"); }
                  ids.add(id+"/"+(fl==null?"-":fl)+(a.length>3?"@"+f.getAttributeValue(new QName("location")):""));
                }
              }
              r.append(String.join(" ", ids));
            } catch (SaxonApiException e) { r.append("DYN:"+String.valueOf(e.getMessage()).replaceAll("[\t\n\r]"," ")); }
          }
          out.println(w[0]+"\t"+s+"\t"+r);
        }
        if (++n%500==0) { System.err.println(n); out.flush(); }
      }
    }
  }
}
